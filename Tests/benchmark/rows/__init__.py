"""The rows of the benchmark, one module each, by the names that `--rows` takes."""

from __future__ import annotations

from collections.abc import Callable

from ..bench import Bench
from ..results import Comparison
from . import (
    background, cached, create, crowd, download, events, forgetting, get, get_h2, get_tls, idle, large_tls, latency, lists,
    many, memory, nodes_get, nodes_idle, nodes_small, peak, readers, readers_h2, restart, segments, slow_disk, small, stream_down,
    stream_up, takeover, upload, waiting, webhooks, webhooks_stuck,
)  # fmt: skip

ROWS: dict[str, tuple[str, Callable[[Bench], list[Comparison]]]] = {
    "download": ("one download of 1 GiB", download.measure),
    "upload": ("upload of a staged file of 1 GiB", upload.measure),
    "stream-up": ("1 GiB streamed up through the gateway", stream_up.measure),
    "stream-down": ("1 GiB streamed down through the gateway", stream_down.measure),
    "segments": ("one download over 8 connections of 1 MiB/s, 50 ms away", segments.measure),
    "many": ("300 downloads of 8 MiB at once", many.measure),
    "small": ("10,000 downloads of 1 KiB", small.measure),
    "cached": ("10,000 answers of 1 KiB from the cache", cached.measure),
    "get": ("GET /v1/tasks/{id}, 64 connections", get.measure),
    "get-h2": ("the same over HTTP/2, 8 connections with 32 streams each", get_h2.measure),
    "get-tls": ("the same over TLS 1.3, 64 connections, and new handshakes", get_tls.measure),
    "large-tls": ("1 GiB of a kept content, and of a staged file, over TLS 1.3", large_tls.measure),
    "create": ("POST of one suspended task, 64 connections", create.measure),
    "memory": ("memory of 2,000 slow downloads at once", memory.measure),
    "events": ("500 event readers of one session, 1,000 events a second", events.measure),
    "latency": ("GET /v1/tasks/{id} while 4 downloads saturate the disk", latency.measure),
    "slow-disk": ("POST of a task while each write to a content takes 20 ms longer", slow_disk.measure),
    "peak": ("memory five minutes after a peak", peak.measure),
    "idle": ("a gateway at rest, alone and with 5,000 silent event readers", idle.measure),
    "readers": ("5,000 event readers of one session, 100 events a second", readers.measure),
    "readers-h2": ("the same over 50 connections of HTTP/2", readers_h2.measure),
    "lists": ("lists with 1,000,000 tasks and 20,000 sessions", lists.measure),
    "forgetting": ("GET /healthz while a long history is forgotten", forgetting.measure),
    "webhooks": ("10,000 events of 1,000 tasks to a webhook, and GETs meanwhile", webhooks.measure),
    "webhooks-stuck": ("100,000 events for a receiver that never answers", webhooks_stuck.measure),
    "background": ("1,000 background downloads over 20 kills", background.measure),
    "waiting": ("restart with 100,000 waiting tasks", waiting.measure),
    "crowd": ("100,000 waiting tasks of one tenant beside another tenant", crowd.measure),
    "restart": ("restart with 100,000 tasks in the store", restart.measure),
    "nodes-small": ("10,000 downloads of 1 KiB by two nodes, and by one gateway", nodes_small.measure),
    "nodes-get": ("GET /v1/tasks/{id} at the node that has it, and at another", nodes_get.measure),
    "nodes-idle": ("what two nodes with 10,000 sessions ask at rest", nodes_idle.measure),
    "takeover": ("from the kill of a node to another one's answer", takeover.measure),
}
