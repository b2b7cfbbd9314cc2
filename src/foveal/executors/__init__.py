"""Where work is done: here, in other processes that may die, or on a cluster.

Everything is a `concurrent.futures.Executor`, and whoever has another one can use it instead.
"""

from foveal.executors.order import cores, in_order, refuse_forks, workers_of
from foveal.executors.processes import LostTaskError, Processes

__all__ = ["LostTaskError", "Processes", "cores", "in_order", "refuse_forks", "workers_of"]
