"""Speed, printed as ratios within one run: `python -m benchmarks [NAME...]`.

A module `bench_<name>.py` in this package is one benchmark. Its first docstring line says
what it measures, its `run(workspace, report)` measures it and reports ratios: figures of
two ways of doing something on the same machine in the same minute, so that they mean the
same everywhere.
"""
