"""Old home of `foveal.model.hashing.first_of_group`, `changes` and `topic_order`."""

from foveal.model.hashing import changes, first_of_group, topic_order

__all__ = ["changes", "first_of_group", "topic_order"]
