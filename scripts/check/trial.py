"""What kill-train and full-disk share: programs, a small corpus, one training
that uses all that a resumed run must remember, and its files' hashes."""

import argparse
import hashlib
import json
import os
import pathlib
import random
import re
import struct
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILT = ROOT / "bazel-bin"
MODEL = "model.safetensors"
KINDS = {"text": "one process learns from text", "sampled": "each epoch cuts the text anew",
         "packed": "pairs packed by tokenize", "processes": "two processes under mpirun"}
ALONE = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
         "OMPI_MCA_plm_rsh_agent": ""}  # no other machine, so no ssh


class Failure(Exception):
    """Ends the check with a message and exit code 1."""


def parse(description):
    """A parser with the options of both checks."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", metavar="FOLDER", type=pathlib.Path,
                        default=BUILT,
                        help="where tools/train is (bazel-bin, after building it)")
    parser.add_argument("--seed", type=int, default=None,
                        help="of all chance here; printed, new by default")
    parser.add_argument("--updates", type=int, default=600, help="of the training (600)")
    parser.add_argument("--kind", choices=KINDS, default="text", help="; ".join(
        f"{kind}: {meaning}" for kind, meaning in KINDS.items()) + " (text)")
    return parser


def run(check, options):
    """Calls check(Trial) in a folder of its own; gives the exit code."""
    if options.seed is None:
        options.seed = random.SystemRandom().randrange(10**6)
    print(f"seed {options.seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="pipeformer-check-") as folder:
        try:
            check(Trial(options, pathlib.Path(folder)))
            return 0
        except Failure as failure:
            print(f"FAILED: {failure}", flush=True)
            print(f"Repeat it with --seed {options.seed}", flush=True)
            return 1


class Trial:
    """A corpus in `folder` and the command that learns from it."""

    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.random = random.Random(options.seed)
        self.programs = options.programs.resolve() / "tools"
        if options.programs == BUILT:
            subprocess.run(["bazel", "build", "--noshow_progress", "--ui_event_filters=-info",
                            "--show_result=0", "//:programs"], cwd=ROOT, check=True)
        elif not (self.programs / "train").exists():
            raise Failure(f"{self.programs} has no train")
        self._write_corpus()

    def _write_corpus(self):
        chance = random.Random(1)
        words = [a + b for a in "bdfgklmnprst" for b in "aeiou"]

        def sentence():
            return [chance.choice(words) for _ in range(chance.randint(2, 9))]

        for name, count in (("train.tsv", 400), ("valid.tsv", 20)):
            with open(self.folder / name, "w") as file:
                for _ in range(count):
                    source = sentence()
                    file.write(" ".join(source) + "\t" + " ".join(reversed(source)) + "\n")
        text = (self.folder / "train.tsv").read_text().replace("\t", "\n")
        model = ["unigram", "70"] if self.options.kind == "sampled" else ["word", str(len(words) + 3)]
        self._filter(["build-vocab", "--model-type", model[0], "--vocab-size", model[1]],
                     text, "joint.model")
        if self.options.kind == "packed":
            for name in ("train", "valid"):
                self._filter(["tokenize", "--vocab", self.folder / "joint.model", "--from", "tsv",
                              "--to", "tensors"], (self.folder / f"{name}.tsv").read_text(),
                             f"{name}.packed")

    def _filter(self, command, text, name):
        """Writes to the file `name` what a program makes of a text."""
        subprocess.run([self.programs / command[0], *command[1:], "--quiet", "--output",
                        self.folder / name], input=text.encode(), check=True)

    def command(self):
        """Dropout, averages, early stopping, best and last checkpoints; a state
        after every second update, so that many a kill falls into a write."""
        updates, kind = self.options.updates, self.options.kind
        launcher = "mpirun --oversubscribe --bind-to none -n 2".split() if kind == "processes" else []
        form = ["--from", "tensors"] if kind == "packed" else []
        if kind == "sampled":
            form = ["--sentencepiece-alphas", 0.2, 0.2]
        ending = "packed" if kind == "packed" else "tsv"
        return [str(x) for x in (
            *launcher, self.programs / "train", *form,
            "--train-sets", self.folder / f"train.{ending}",
            "--valid-sets", self.folder / f"valid.{ending}",
            "--vocabs", self.folder / "joint.model", "--model", MODEL, "--after", f"{updates}u", "--threads", 1, "--dim-emb", 32,
            "--transformer-heads", 2, "--transformer-dim-ffn", 64, "--enc-depth", 1,
            "--dec-depth", 1, "--norm", "pre", "--transformer-dropout", 0.1,
            "--learn-rate", 0.005, "--lr-warmup", 50, "--mini-batch-words", 256,
            "--exponential-smoothing", 0.01, "--valid-metrics", "chrf", "cross-entropy",
            "--valid-freq", f"{max(1, updates // 24)}u", "--save-freq", "2u",
            "--early-stopping", 30, "--keep-best", "--average-last", 3)]

    def place(self, name):
        """An empty folder for one training."""
        place = self.folder / name
        place.mkdir()
        return place

    def train(self, place, **popen):
        """Starts the training in `place`."""
        return subprocess.Popen(self.command(), cwd=place, stderr=subprocess.PIPE, text=True,
                                env=os.environ | ALONE, **popen)

    def process_to_kill(self, process):
        """The training's process id; of several one by chance, once they are
        there. None where it has ended."""
        if self.options.kind != "processes":
            return process.pid
        while process.poll() is None:
            children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()
            if len(children.split()) == 2:
                return int(self.random.choice(children.split()))
            time.sleep(0.005)
        return None

    def undisturbed(self):
        """(hashes of its files, seconds) of a training from start to end."""
        place = self.place("undisturbed")
        start = time.monotonic()
        finish(self.train(place))
        seconds = time.monotonic() - start
        hashes = hash_files(place)
        print(f"undisturbed: {self.options.updates} updates in {seconds:.1f} s", flush=True)
        for name, sha256 in hashes.items():
            print(f"  {sha256[:16]}  {name}", flush=True)
        return hashes, seconds

    def compare(self, place, expected):
        """Fails unless the files of `place` are the expected ones."""
        hashes = hash_files(place)
        if hashes == expected:
            return
        names = sorted(set(hashes.items()) ^ set(expected.items()))
        raise Failure("other files than undisturbed: " + ", ".join(
            sorted({name for name, _ in names})))


def finish(process):
    """Waits for a training that must end well; gives what it said."""
    said = process.communicate()[1]
    if process.returncode != 0:
        raise Failure(f"train ended with {process.returncode}: {said}")
    return said


def resumed_after(said):
    """The update that a run went on from."""
    match = re.search(r"resuming after update (\d+)", said)
    return int(match.group(1)) if match else 0


def hash_files(place):
    """{name: SHA-256} of all files in a folder."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(place.iterdir())}


def check_whole(place):
    """Fails unless every model and state in `place` is as long as its header
    says and its weights have their recorded hash."""
    for path in place.glob(MODEL + "*"):
        data = path.read_bytes()
        try:
            size, = struct.unpack("<Q", data[:8])
            header = json.loads(data[8:8 + size])
            metadata = header.pop("__metadata__")
        except (struct.error, ValueError, KeyError) as error:
            raise Failure(f"{path.name} is cut off or no tensor file: {error}")
        end = max(tensor["data_offsets"][1] for tensor in header.values())
        if len(data) != 8 + size + end:
            raise Failure(f"{path.name} has {len(data)} bytes, its header says {8 + size + end}")
        if "sha256.weights" not in metadata:
            continue
        hashed = hashlib.sha256()
        for tensor in header.values():
            if tensor["dtype"] == "F32":
                begin, end = tensor["data_offsets"]
                hashed.update(data[8 + size + begin:8 + size + end])
        if hashed.hexdigest() != metadata["sha256.weights"]:
            raise Failure(f"the weights of {path.name} do not have their hash")
