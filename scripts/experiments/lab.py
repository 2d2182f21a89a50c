"""What the experiments share: options, programs, training side by side with an
estimate of the time left, tables, records and plots.

An experiment is a function of a Lab, run by `main`. Its files lie in one
folder: the data, the models and their logs, NAME.jsonl, NAME.gp and NAME.svg.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
TARGETS = {
    "attention_cost": "tests/bench",
    "attention_saturation": "tests/bench",
}

# Colours that stay apart for colour-blind eyes (Okabe and Ito 2008).
PLOT_STYLE = """
set terminal svg size {width},{height} font 'sans,14' background '#ffffff'
set output '{name}.svg'
set border 3 linecolor '#555555'
set tics nomirror
set grid linecolor '#dddddd' linewidth 1
set linetype 1 linecolor '#0072b2' linewidth 2 pointtype 7
set linetype 2 linecolor '#d55e00' linewidth 2 pointtype 5
set linetype 3 linecolor '#009e73' linewidth 2 pointtype 9
set linetype 4 linecolor '#cc79a7' linewidth 2 pointtype 13
set linetype 5 linecolor '#e69f00' linewidth 2 pointtype 11
set linetype 6 linecolor '#555555' linewidth 1 dashtype 2
"""


class Failure(Exception):
    """Ends the experiment with a message and an exit code."""

    def __init__(self, message, code=70):
        super().__init__(message)
        self.code = code


class Progress:
    """Tells people, on stderr, how far a run of more than two seconds is."""

    def __init__(self, name):
        self.name, self.start = name, time.monotonic()
        self.terminal = sys.stderr.isatty()
        self.due = self.start + 2

    def show(self, share, what):
        now = time.monotonic()
        if now < self.due:
            return
        self.due = now + (1 if self.terminal else 10)
        taken = now - self.start
        left = f", about {taken / share - taken:.0f} s left" if share > 0.02 else ""
        self._print(f"{what}, {100 * share:.0f} %{left}")

    def show_last(self, what):
        """What comes after the part whose share is known."""
        if time.monotonic() > self.start + 2:
            self._print(what)

    def done(self):
        if self.terminal:
            print(end="\033[K", file=sys.stderr, flush=True)

    def _print(self, text):
        end = "\033[K\r" if self.terminal else "\n"
        print(f"{self.name}: {text}", end=end, file=sys.stderr, flush=True)


class Trained:
    """A model that `train` has made, and what its log says of it."""

    def __init__(self, model, log, messages):
        self.model = model
        records = [json.loads(line) for line in log.read_text().splitlines()]
        self.validations = [r for r in records if "validation" in r]
        self.parameters = int(re.search(r"(\d+) parameters", messages)[1])

    def losses(self):
        """[(updates, training loss since the point before)], nats a piece."""
        return [(r["step"], r["loss"]) for r in self.validations]

    def cross_entropies(self):
        """[(updates, loss of the validation set)], nats a piece."""
        return [(r["step"], r["validation"]["cross_entropy"]) for r in self.validations]


class Lab:
    def __init__(self, name, options):
        self.name, self.quick = name, options.quick
        self.programs = options.programs
        self.folder = options.output or pathlib.Path("experiments.out") / name
        self.folder.mkdir(parents=True, exist_ok=True)
        self.progress = Progress(name)

    # Files and programs.

    def path(self, name):
        return self.folder / name

    def write(self, name, lines):
        with open(self.path(name), "w", encoding="utf-8", newline="\n") as file:
            file.writelines(line + "\n" for line in lines)
        return self.path(name)

    def program(self, name):
        """The path of a program, built first if there is none."""
        place = TARGETS.get(name, "tools")
        folder = self.programs or ROOT / "bazel-bin"
        path = folder / place / name
        if not path.exists() and self.programs is None:
            print(f"{self.name}: building the programs (minutes)", file=sys.stderr)
            targets = [f"//{place}:{name}" for name, place in TARGETS.items()]
            build = ["bazel", "build", "--ui_event_filters=-info", "--noshow_progress"]
            if subprocess.run([*build, "//:programs", *targets], cwd=ROOT).returncode:
                raise Failure("the programs do not build; see scripts/setup")
        if not path.exists():
            raise Failure(f"{path}: no such program; run: bazel build //:programs", 66)
        return str(path)

    def run(self, program, *arguments, stdin=None):
        """Runs a program to its end and gives its standard output."""
        command = [self.program(program), *map(str, arguments)]
        done = subprocess.run(command, input=stdin, capture_output=True, text=True)
        if done.returncode:
            raise Failure(f"failed: {' '.join(command)}\n{done.stderr}")
        return done.stdout

    def records_of(self, program, *arguments, stdin=None):
        output = self.run(program, *arguments, stdin=stdin)
        return [json.loads(line) for line in output.splitlines()]

    def measure(self, program, *arguments, weights):
        """The records of a program that takes a while. The weights are how long
        each takes, in any unit."""
        command = [self.program(program), *map(str, arguments)]
        records = []
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            for line in process.stdout:
                records.append(json.loads(line))
                share = sum(weights[:len(records)]) / sum(weights)
                self.progress.show(share, f"{len(records)} of {len(weights)} measured")
        if process.returncode:
            raise Failure(f"failed: {' '.join(command)}")
        return records

    def vocabulary(self, lines):
        """Makes `words.model`, which holds every word of `lines`."""
        num_words = len({word for line in lines for word in line.split()})
        model = self.path("words.model")
        self.run("build-vocab", "--model-type", "word", "--vocab-size", num_words + 3,
                 "--output", model, stdin="".join(line + "\n" for line in lines))
        return model

    # Training.

    def train_all(self, jobs, updates, options):
        """Trains {name: further options} side by side, a thread each.

        `options` hold for all. Gives {name: Trained}. The same on every
        machine with the same processor, however many run at a time.
        """
        updates = 4 if self.quick else updates
        shares = dict.fromkeys(jobs, 0.0)
        self.program("train")
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            futures = {
                name: pool.submit(self._train, name, [*options, *extra], updates, shares)
                for name, extra in jobs.items()
            }
            while not all(future.done() for future in futures.values()):
                concurrent.futures.wait(futures.values(), timeout=0.5)
                left = sum(share < 1 for share in shares.values())
                self.progress.show(
                    sum(shares.values()) / len(jobs), f"{left} models to train")
            self.progress.show_last("trained; now trying them out, seconds")
            return {name: future.result() for name, future in futures.items()}

    def _train(self, name, options, updates, shares):
        model, log = self.path(f"{name}.safetensors"), self.path(f"{name}.log")
        for old in self.folder.glob(f"{name}.*"):
            old.unlink()
        options = ["--label-smoothing", "0", "--after", f"{updates}u", "--early-stopping", "0",
                   "--valid-freq", f"{max(1, updates // 12)}u",
                   "--threads", "1", "--log", log, "--model", model, *options]
        command = [self.program("train"), *map(str, options)]
        messages = self.path(f"{name}.messages")
        with open(messages, "w", encoding="utf-8") as stderr:
            process = subprocess.Popen(command, stderr=stderr, stdin=subprocess.DEVNULL)
            while process.poll() is None:
                time.sleep(0.1)
                steps = re.findall(r'"step":(\d+)', log.read_text() if log.exists() else "")
                shares[name] = min(0.99, int(steps[-1]) / updates) if steps else 0
        shares[name] = 1
        if process.returncode:
            raise Failure(f"failed: {' '.join(command)}\n{messages.read_text()}")
        return Trained(model, log, messages.read_text())

    # Results.

    def table(self, head, rows):
        """Prints rows of texts under their heads, numbers to the right."""
        self.progress.done()
        rows = [[str(cell) for cell in row] for row in rows]
        widths = [max(map(len, column)) for column in zip(head, *rows)]
        for row in [head, *rows]:
            cells = [
                cell.ljust(width) if i == 0 else cell.rjust(width)
                for i, (cell, width) in enumerate(zip(row, widths))
            ]
            print("  ".join(cells).rstrip())
        print()

    def save(self, records):
        """Writes NAME.jsonl, one record a line."""
        self.write(f"{self.name}.jsonl", (
            json.dumps({"experiment": self.name, **record}) for record in records))

    def plot(self, commands, blocks, width=760, height=460):
        """Draws NAME.svg by gnuplot; NAME.gp holds all it is drawn from.

        `blocks` are rows of numbers; the commands know them as $name.
        """
        style = PLOT_STYLE.format(name=self.name, width=width, height=height)
        data = ""
        for name, rows in blocks.items():
            lines = (" ".join(map(str, row)) for row in rows)
            data += f"${name} << EOD\n" + "\n".join(lines) + "\nEOD\n"
        script = self.write(f"{self.name}.gp", [style + data + commands])
        try:
            subprocess.run(["gnuplot", script.name], cwd=self.folder, check=True)
        except FileNotFoundError:
            raise Failure("gnuplot is not installed; scripts/setup installs it", 66)

    def conclude(self, supported, text):
        """Prints the conclusion; gives the exit code."""
        if self.quick:
            print("A quick run: too short to show anything.")
            return 0
        print(text if supported else "NOT SUPPORTED by this run. " + text)
        print(f"Records and plot: {self.path(self.name)}.jsonl, .svg")
        return 0 if supported else 1


def main(experiment, description):
    """Runs `experiment(lab)` as the options say; gives its exit code."""
    name = pathlib.Path(sys.argv[0]).name
    parser = argparse.ArgumentParser(
        prog=name, description=description, add_help=True,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=pathlib.Path, metavar="FOLDER",
                        help=f"where files go (experiments.out/{name})")
    parser.add_argument("--quick", action="store_true",
                        help="seconds instead of minutes; shows that it works, no more")
    parser.add_argument("--programs", type=pathlib.Path, metavar="FOLDER",
                        help="holds tools/ and tests/bench/ with the programs (bazel-bin)")
    options = parser.parse_args()
    try:
        sys.exit(experiment(Lab(name, options)))
    except Failure as failure:
        print(f"{name}: {failure}", file=sys.stderr)
        sys.exit(failure.code)
