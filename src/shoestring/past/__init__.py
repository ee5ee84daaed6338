"""The user's past: earlier studies of similar models, and a guess. Both become the plan of a study."""

from typing import TYPE_CHECKING

from shoestring._lazy import lazy_names

if TYPE_CHECKING:
    from shoestring.past.planning import plan_if_new as plan_if_new

__all__, __getattr__, __dir__ = lazy_names(__name__, {"planning": "plan_if_new"})
