"""Validates data/records.jsonl against formats/schemas.

Each line names a schema, whether the record must pass, and the record.
Needs Debian's python3-jsonschema.
"""

import glob
import json
import sys

import jsonschema


def main(schema_folder, record_file):
    schemas = {}
    for path in sorted(glob.glob(schema_folder + '/*.schema.json')):
        with open(path, encoding='utf-8') as file:
            schema = json.load(file)
        jsonschema.Draft202012Validator.check_schema(schema)
        schemas[schema['$id']] = schema
    seen = set()
    wrong = 0
    with open(record_file, encoding='utf-8') as file:
        lines = [json.loads(line) for line in file]
    for number, line in enumerate(lines, start=1):
        schema = schemas['urn:pipeformer:' + line['schema'] + ':1']
        resolver = jsonschema.RefResolver.from_schema(schema, store=schemas)
        validator = jsonschema.Draft202012Validator(schema, resolver=resolver)
        errors = [error.message for error in
                  validator.iter_errors(line['record'])]
        seen.add((schema['$id'], line['valid']))
        if line['valid'] == (not errors):
            continue
        wrong += 1
        print('%s:%d: %s: %s' % (record_file, number, line['schema'],
                                 errors or 'accepted, should be refused'))
    missing = {(name, valid) for name in schemas
               for valid in (True, False)} - seen
    for name, valid in sorted(missing):
        print('%s: no %s example' % (name, 'good' if valid else 'bad'))
    return 1 if wrong or missing or not schemas else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1], sys.argv[2]))
