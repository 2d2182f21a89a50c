"""Checks JSON-lines on standard input against schemas: check_records.py NAME...

Each record must fit one of the named schemas of formats/schemas; says how many
fitted which. A record with `step` alone is a record of the training log.
"""

import glob
import json
import os
import sys

import jsonschema


def main(names):
    folder = os.path.join(os.environ['DATA'], '../../../formats/schemas')
    schemas = {}
    for path in glob.glob(folder + '/*.schema.json'):
        with open(path, encoding='utf-8') as file:
            schema = json.load(file)
        schemas[schema['$id']] = schema
    counts = dict.fromkeys(names, 0)
    for number, line in enumerate(sys.stdin.buffer, start=1):
        record = json.loads(line.decode('utf-8'),
                            parse_constant=lambda name: 1 / 0)
        for name in names:
            schema = schemas['urn:pipeformer:' + name + ':1']
            resolver = jsonschema.RefResolver.from_schema(schema,
                                                          store=schemas)
            validator = jsonschema.Draft202012Validator(schema,
                                                        resolver=resolver)
            errors = list(validator.iter_errors(record))
            if not errors:
                counts[name] += 1
                break
        else:
            sys.exit('line %d: %s' % (number, errors[0].message))
    print(' '.join('%s %d' % item for item in counts.items()))


if __name__ == '__main__':
    main(sys.argv[1:])
