"""The laws of one run, tried by several processes: on this machine, by any executor, or on a Dask cluster.

The laws are divided into work items. A process that gets one loads the implementation once, keeps it, and returns
results. A law's cases follow from its id and the seed, so that it does not matter where it is tried.
"""
