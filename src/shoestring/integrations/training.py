"""Online tuning inside an ordinary training loop, in three lines: :class:`OnlineTraining`."""

from shoestring.online.training import OnlineTraining as OnlineTraining
