"""Executors: tasks run here, in processes of this machine, on a Dask cluster, or anywhere else."""

from foveal.executors.processes import LostTaskError, Processes, count_cores, map_in_order

__all__ = ["LostTaskError", "Processes", "count_cores", "map_in_order"]
