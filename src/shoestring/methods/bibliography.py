"""The papers behind the methods as BibTeX, for ``study.references(bibtex=True)``.

A method names its paper in words, in its attribute ``reference``. An entry here is found by the authors' surnames and a
part of the title that both have.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Entry(NamedTuple):
    """One publication: the kind and key of its BibTeX entry, and its fields."""

    kind: str
    key: str
    authors: str
    title: str
    where: str
    year: int


ENTRIES = (
    Entry("article", "bergstra2012random", "Bergstra, James and Bengio, Yoshua",
          "Random search for hyper-parameter optimization",
          "journal = {Journal of Machine Learning Research}, volume = {13}", 2012),
    Entry("article", "mckay1979comparison", "McKay, Michael D. and Beckman, Richard J. and Conover, William J.",
          "A comparison of three methods for selecting values of input variables in the analysis of output "
          "from a computer code",
          "journal = {Technometrics}, volume = {21}, number = {2}", 1979),
    Entry("inproceedings", "bergstra2011algorithms",
          "Bergstra, James and Bardenet, R{\\'e}mi and Bengio, Yoshua and K{\\'e}gl, Bal{\\'a}zs",
          "Algorithms for hyper-parameter optimization",
          "booktitle = {Advances in Neural Information Processing Systems}, volume = {24}", 2011),
    Entry("misc", "hansen2016cma", "Hansen, Nikolaus", "The CMA evolution strategy: a tutorial",
          "note = {arXiv:1604.00772}", 2016),
    Entry("inproceedings", "snoek2012practical", "Snoek, Jasper and Larochelle, Hugo and Adams, Ryan P.",
          "Practical Bayesian optimization of machine learning algorithms",
          "booktitle = {Advances in Neural Information Processing Systems}, volume = {25}", 2012),
    Entry("mastersthesis", "lu2021applications", "Lu, Shan",
          "On applications of multi-armed bandit and Bayesian optimization approaches for AutoML problems",
          "school = {University of Alberta}", 2021),
    Entry("inproceedings", "jamieson2016non", "Jamieson, Kevin and Talwalkar, Ameet",
          "Non-stochastic best arm identification and hyperparameter optimization",
          "booktitle = {International Conference on Artificial Intelligence and Statistics}", 2016),
    Entry("article", "li2018hyperband",
          "Li, Lisha and Jamieson, Kevin and DeSalvo, Giulia and Rostamizadeh, Afshin and Talwalkar, Ameet",
          "Hyperband: a novel bandit-based approach to hyperparameter optimization",
          "journal = {Journal of Machine Learning Research}, volume = {18}", 2018),
    Entry("inproceedings", "li2020system",
          "Li, Liam and Jamieson, Kevin and Rostamizadeh, Afshin and Gonina, Ekaterina and Ben-tzur, Jonathan and "
          "Hardt, Moritz and Recht, Benjamin and Talwalkar, Ameet",
          "A system for massively parallel hyperparameter tuning", "booktitle = {Machine Learning and Systems}", 2020),
    Entry("inproceedings", "falkner2018bohb", "Falkner, Stefan and Klein, Aaron and Hutter, Frank",
          "BOHB: robust and efficient hyperparameter optimization at scale",
          "booktitle = {International Conference on Machine Learning}", 2018),
    Entry("misc", "huang2020asymptotically",
          "Huang, Yimin and Li, Yujun and Ye, Hanrong and Li, Zhenguo and Zhang, Zhihua",
          "An asymptotically optimal multi-armed bandit algorithm and hyperparameter optimization",
          "note = {arXiv:2007.05670}", 2020),
    Entry("misc", "swersky2014freeze", "Swersky, Kevin and Snoek, Jasper and Adams, Ryan P.",
          "Freeze-thaw Bayesian optimization", "note = {arXiv:1406.3896}", 2014),
    Entry("inproceedings", "lu2019hyper", "Lu, Zhiyun and Chiang, Chao-Kai and Sha, Fei",
          "Hyper-parameter tuning under a budget constraint",
          "booktitle = {International Joint Conference on Artificial Intelligence}", 2019),
    Entry("inproceedings", "lam2016bayesian", "Lam, Remi and Willcox, Karen and Wolpert, David H.",
          "Bayesian optimization with a finite budget: an approximate dynamic programming approach",
          "booktitle = {Advances in Neural Information Processing Systems}, volume = {29}", 2016),
    Entry("inproceedings", "klein2017fast",
          "Klein, Aaron and Falkner, Stefan and Bartels, Simon and Hennig, Philipp and Hutter, Frank",
          "Fast Bayesian optimization of machine learning hyperparameters on large datasets",
          "booktitle = {International Conference on Artificial Intelligence and Statistics}", 2017),
)  # fmt: skip


def bibtex_of(reference: str) -> str:
    """Convert a reference to a BibTeX entry; an unknown one, such as the paper of your own method, becomes a note.

    >>> print(bibtex_of("Swersky, Snoek and Adams, Freeze-thaw Bayesian optimization, 2014"))
    @misc{swersky2014freeze,
      author = {Swersky, Kevin and Snoek, Jasper and Adams, Ryan P.},
      title = {{Freeze-thaw Bayesian optimization}},
      note = {arXiv:1406.3896},
      year = {2014}
    }
    """
    entry = next((entry for entry in ENTRIES if _names(reference, entry)), None)
    if entry is None:
        key = re.sub(r"\W", "", reference.partition(",")[0]).lower() or "reference"
        return f"@misc{{{key},\n  note = {{{reference}}}\n}}"
    fields = [f"author = {{{entry.authors}}}", f"title = {{{{{entry.title}}}}}"]
    fields += re.findall(r"\w+ = \{.*?\}", entry.where)
    body = ",\n".join(f"  {field}" for field in [*fields, f"year = {{{entry.year}}}"])
    return f"@{entry.kind}{{{entry.key},\n{body}\n}}"


def _names(reference: str, entry: Entry) -> bool:
    """Compare a reference in words with an entry: it starts with the first surname and has the start of the title."""
    surname, start = entry.authors.partition(",")[0], " ".join(re.split(r"[:\s]+", entry.title)[:4])
    return reference.startswith(surname) and start in reference.replace(":", "")
