"""What a row found, and how it is shown: a table of ratios, and the same as JSON."""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from .processes import Work


@dataclass
class Comparison:
    """One figure of Ferry's beside a peer's, or alone when `peer` is None."""

    row: str
    measure: str
    unit: str
    ferry: list[float]
    peer: str | None
    peers: list[float]
    relation: str
    bound: float
    note: str = ""

    @property
    def figure(self) -> float:
        """The ratio of the medians, or Ferry's median when there is no peer."""
        return median(self.ferry) / median(self.peers) if self.peer else median(self.ferry)

    @property
    def is_met(self) -> bool:
        return self.figure >= self.bound if self.relation == "≥" else self.figure <= self.bound

    def cells(self) -> list[str]:
        unit = "×" if self.peer else f" {self.unit}"
        return [
            self.row,
            f"{self.measure}, {self.unit}",
            _short(median(self.ferry)),
            f"{self.peer} {_short(median(self.peers))}" if self.peer else "–",
            f"{self.figure:.2f}{unit}",
            f"{self.relation} {self.bound:g}{unit}",
            "✓" if self.is_met else "✗",
        ]

    def as_json(self) -> dict[str, object]:
        return {
            "row": self.row,
            "measure": self.measure,
            "unit": self.unit,
            "ferry": {"median": median(self.ferry), "samples": self.ferry},
            "peer": self.peer
            and {"name": self.peer, "median": median(self.peers), "samples": self.peers},
            "figure": self.figure,
            "target": f"{self.relation} {self.bound:g}",
            "met": self.is_met,
            "note": self.note,
        }


def compare_work(
    row: str, unit: str, ferry: list[Work], peer: str, peers: list[Work], least: float, most: float
) -> list[Comparison]:
    """The rate, of which `least` times the peer's is wanted, and the processor time each, of which
    at most `most` times the peer's is."""
    return [
        Comparison(
            row, "rate", f"{unit}s/s", [one.rate for one in ferry],
            peer, [one.rate for one in peers], "≥", least,
        ),
        Comparison(
            row, "CPU", f"µs/{unit}", [one.cpu for one in ferry],
            peer, [one.cpu for one in peers], "≤", most,
        ),
    ]  # fmt: skip


@dataclass
class Results:
    """All that a run found."""

    rounds: int
    comparisons: list[Comparison] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)

    def table(self) -> str:
        """A Markdown table, aligned for a terminal too."""
        header = ["row", "measured", "Ferry", "peer", "ratio", "target", ""]
        rows = [header, *(one.cells() for one in self.comparisons)]
        widths = [max(len(row[column]) for row in rows) for column in range(len(header))]
        lines = [_line(row, widths) for row in rows]
        lines.insert(1, "|".join(["", *("-" * (width + 2) for width in widths), ""]))
        notes = [f"{one.row}: {one.note}" for one in self.comparisons if one.note]
        lost = [f"{row} was not measured: {reason}" for row, reason in self.failures.items()]
        return "\n".join([*lines, *dict.fromkeys(notes), *lost])

    def save(self, path: Path) -> None:
        value = {
            "machine": machine(),
            "rounds": self.rounds,
            "comparisons": [one.as_json() for one in self.comparisons],
            "failures": self.failures,
        }
        path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def machine() -> dict[str, object]:
    """What a figure was measured on."""
    model = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    memory = re.search(r"^MemTotal:\s+(\d+)", Path("/proc/meminfo").read_text(), re.MULTILINE)
    return {
        "processor": model[1] if model else platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "memoryBytes": int(memory[1]) * 1024 if memory else None,
        "kernel": platform.release(),
        "versions": {
            "aria2": _first_line("aria2c", "--version"),
            "curl": _first_line("curl", "--version"),
            "nginx": _first_line("/usr/sbin/nginx", "-v"),
            "wrk": _first_line("wrk", "--version"),
        },
    }


def _first_line(*command: str) -> str | None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return None
    return (done.stdout or done.stderr).partition("\n")[0]


def _line(row: list[str], widths: list[int]) -> str:
    return "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " |"


def _short(value: float) -> str:
    if value >= 10_000:
        return f"{value:,.0f}"
    return f"{value:.3g}" if value < 100 else f"{value:.0f}"
