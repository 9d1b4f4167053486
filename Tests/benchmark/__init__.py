"""Ferry measured beside its peers: `make bench`, or `python3 -m benchmark` with Tests on the path.

Every server and load tool runs on this machine's loopback, is started by the driver on a port of
its own, and ends with it. The contestants of a row take turns within the same run.
"""
