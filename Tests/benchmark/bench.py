"""What every row is given: the work folder, the tools, and turns for the contestants."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from .processes import Cores, Failed

Sample = TypeVar("Sample")

GIBIBYTE = 1 << 30


@dataclass(frozen=True)
class Bench:
    """One run of the benchmark."""

    ferry: Path
    work: Path
    tools: Path
    rounds: int
    is_quick: bool
    cores: Cores
    # Of rows whose turns take minutes and whose figures hardly scatter.
    long_rounds: int = 1

    def take_turns(
        self, contestants: dict[str, Callable[[], Sample]], rounds: int | None = None
    ) -> dict[str, list[Sample]]:
        """Measures every contestant once a round; who begins changes with the round."""
        names = list(contestants)
        samples: dict[str, list[Sample]] = {name: [] for name in names}
        rounds = rounds or self.rounds
        for turn in range(rounds):
            first = turn % len(names)
            for name in names[first:] + names[:first]:
                sample = contestants[name]()
                samples[name].append(sample)
                self.say(f"  round {turn + 1}/{rounds} {name}: {sample}")
        return samples

    def seconds(self, usual: float, quick: float) -> float:
        return quick if self.is_quick else usual

    def say(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    def origin_folder(self) -> Path:
        """A folder with the file of 1 GiB that downloads fetch; made once a run."""
        folder = self.work / "origin"
        file = folder / "gibibyte"
        if not file.exists():
            folder.mkdir(exist_ok=True)
            block = os.urandom(1 << 20)
            with file.open("wb") as output:
                for _ in range(GIBIBYTE >> 20):
                    output.write(block)
            settle()
        return folder


def in_parallel(jobs: list[Callable[[], None]]) -> None:
    """Runs each job in a thread of its own until all have ended; raises the first failure."""
    failures: list[Exception] = []

    def run(job: Callable[[], None]) -> None:
        try:
            job()
        except (OSError, Failed) as failure:
            failures.append(failure)

    threads = [threading.Thread(target=run, args=(job,), daemon=True) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise Failed(f"a client of the server failed: {failures[0]}")


def settle() -> None:
    """Waits until the disk has taken what was written before, so that no turn pays for another."""
    os.sync()
