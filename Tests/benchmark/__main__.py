"""The driver: sets up, runs the rows that were asked for, prints the table, saves the JSON."""

from __future__ import annotations

import argparse
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from .bench import Bench
from .processes import Cores, Failed, raise_descriptor_limit
from .results import Results
from .rows import ROWS
from .tools import build_tools, require_commands


def main() -> int:
    options = _options()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    require_commands("aria2c", "cc", "curl", "/usr/sbin/nginx", "wrk")
    raise_descriptor_limit()
    folder = options.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    build_tools(folder)
    work = Path(tempfile.mkdtemp(prefix="run-", dir=folder))
    bench = Bench(
        ferry=options.ferry.resolve(),
        work=work,
        tools=folder,
        rounds=options.rounds or (1 if options.quick else 5),
        is_quick=options.quick,
        cores=Cores.of_this_machine(),
        long_rounds=options.rounds or 1,
    )
    try:
        results = _run(bench, options.rows)
        print(results.table())
        results.save(folder / "result.json")
    finally:
        if options.keep:
            bench.say(f"kept {work}")
        else:
            shutil.rmtree(work, ignore_errors=True)
    return 1 if results.failures else 0


def _run(bench: Bench, names: list[str]) -> Results:
    results = Results(bench.rounds)
    for name in names:
        title, measure = ROWS[name]
        bench.say(f"{name}: {title}")
        try:
            results.comparisons += measure(bench)
        except (Failed, OSError, subprocess.SubprocessError) as failure:
            bench.say(f"  not measured: {failure}")
            results.failures[name] = str(failure)
    return results


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench", description="Ferry beside its peers.")
    parser.add_argument("--ferry", type=Path, required=True, help="the executable to measure")
    parser.add_argument(
        "--rows", type=_row_names, default=list(ROWS), help=f"of {', '.join(ROWS)}; default: all"
    )
    parser.add_argument(
        "--rounds", type=int, help="turns of every contestant; default: 5, of segments: 1"
    )
    parser.add_argument("--quick", action="store_true", help="one short round, for a first look")
    parser.add_argument("--keep", action="store_true", help="keep the logs and data of the run")
    parser.add_argument(
        "--folder", type=Path, default=Path(".build/benchmark"), help="where to work and save"
    )
    return parser.parse_args()


def _row_names(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    unknown = [name for name in names if name not in ROWS]
    if unknown:
        raise argparse.ArgumentTypeError(f"no row is called {', '.join(unknown)}")
    return names or list(ROWS)


if __name__ == "__main__":
    sys.exit(main())
