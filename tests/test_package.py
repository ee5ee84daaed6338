"""The package itself: what importing it costs, what it exports, which way imports point."""

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import shoestring

SOURCE = Path(shoestring.__file__).parent

# Who may import whom: each line only from itself and the lines below it, also inside functions.
LAYERS = [
    {"cli", "web", "augment", "integrations", "loggers", "testing", "problems", "__main__"},
    {"tuning"},
    {"study"},
    {"past"},
    {"exchange"},
    {"display"},
    {"plots"},
    {"views"},
    {"running"},
    {"executors", "hydra"},
    {"objectives"},
    {"methods", "online", "logs"},
    {"samplers", "schedulers"},
    {"models"},
    {"core", "_torch"},
    {"spaces"},
    {"errors", "_lazy", "_arrays", "_other_names", "_tables", "_text"},
]


def test_importing_it_loads_nothing_heavy():
    program = "import sys, shoestring; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    heavy = {
        "torch",
        "ray",
        "sklearn",
        "matplotlib",
        "scipy",
        "numpy",
        "ConfigSpace",
        "pandas",
        "rich",
        "click",
        "psycopg",
    }
    assert not heavy & {name.split(".")[0] for name in loaded}


def test_reading_a_study_does_not_load_the_models():
    program = "import sys, shoestring.study; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert not {"torch", "ray", "sklearn", "matplotlib", "pandas", "scipy", "psycopg"} & {
        n.split(".")[0] for n in loaded
    }


def _falling(trial):
    for step in range(trial.start, 9):
        yield trial.config["x"] / (step + 1)


def test_drawing_recorded_curves_does_not_load_the_models(tmp_path):
    study = shoestring.Study(
        {"x": (0.0, 1.0)}, budget="30 steps", max_resource=9, method="asha", storage=tmp_path / "s.db", name="s"
    )
    study.run(_falling, progress=False)
    program = f"""
import sys, shoestring
from shoestring import plots
from shoestring.study import Study
assert "<path" in plots.curves(Study.load({str(tmp_path / "s.db")!r}), backend="svg")
print(*(name for name in sys.modules if name.startswith("shoestring.models")))
"""
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert loaded == []


PUBLIC = {
    "shoestring": """Budget BudgetSearchCV Command Grant Reading Study Trial compose forbid guess ints log space
        space_from tune warm_start when augment errors executors hydra loggers methods online plots problems samplers
        schedulers""",
    "shoestring.samplers": "BOES CMAES GaussianProcess Grid LatinHypercube Random TPE",
    "shoestring.schedulers": """ASHA AsyncSubSampling ConfidenceStop Full Hyperband ModifiedSubSampling SubSampling
        SuccessiveHalving""",
    "shoestring.methods": """BHPT BOHB BOSS BayesianOptimization Fabolas Forecast FreezeThaw ParallelBOSS RandomSearch
        Rollout named names register""",
    "shoestring.online": """CEGPUCB EXP3R EXP3S GPUCB RGPUCB TVGPUCB UCB1 Always Bernoulli Confident Disjoint
        EpsilonGreedy Exactly ExpectedLoss LogBeta Mixed OnlineTuner PlotData Round RoundRecord Softmax TheoremBeta""",
    "shoestring.online.networks": "ARMS Conv2d Dropout HyperParameters Linear RoundOfTraining SelfTuning Training",
    "shoestring.plots": """burn_down contour curves forecast front history importance online pairs parallel pareto
        regret rungs shares slices volume workers metrics""",
    "shoestring.problems": "Contest CurveTable GridTable Synthetic WithCurves contest_score random_reference",
    "shoestring.augment": "OPERATIONS Augment Pair Policy PolicySet RankedPair RankedPolicy policies_of search",
    "shoestring.executors": "Executor Futures Inline Job Processes Ray Report Session Simulated Trial",
    "shoestring.hydra": "current_trial report",
    "shoestring.loggers": "CSV MLflow TensorBoard WandB",
    "shoestring.logs": "MemoryLog PostgresLog SqliteLog open_log",
    "shoestring.testing": """Playground asked check_another_process check_executor check_log check_method
        check_rank_based check_sampler check_scheduler played""",
}
NEED_TORCH = {"Augment", "search", *PUBLIC["shoestring.online.networks"].split()}


@pytest.mark.parametrize("package", PUBLIC)
def test_public_names(package):
    module = import_module(package)
    assert sorted(module.__all__) == sorted(PUBLIC[package].split())
    assert set(module.__all__) <= set(dir(module))
    for name in set(module.__all__) - NEED_TORCH:
        assert getattr(module, name) is not None


def test_modules_do_not_hide_functions_of_the_same_name():
    import_module("shoestring.logs"), import_module("shoestring.tuning")
    assert callable(shoestring.log)
    assert callable(shoestring.tune)


def layer_of(part):
    return next((i for i, layer in enumerate(LAYERS) if part in layer), None)


def imports_of(path):
    """The parts of shoestring that a file imports, also inside functions and for types."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module == "shoestring":
            yield from (alias.name for alias in node.names if (SOURCE / alias.name).exists())
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("shoestring."):
            yield node.module.split(".")[1]
        elif isinstance(node, ast.Import):
            yield from (alias.name.split(".")[1] for alias in node.names if alias.name.startswith("shoestring."))


def test_imports_point_one_way():
    for path in SOURCE.rglob("*.py"):
        part = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        if part == "__init__":
            continue
        assert layer_of(part) is not None, f"{part} has no layer: add it to the picture"
        for other in imports_of(path):
            assert layer_of(part) <= layer_of(other), f"{path.relative_to(SOURCE)} imports {other}, which is above it"


def test_no_two_folders_import_each_other():
    """Folders on one line of the picture may import each other one way, not both; imports inside functions count."""
    arrows = {
        (path.relative_to(SOURCE).parts[0], other)
        for path in SOURCE.rglob("*.py")
        if path.parent != SOURCE
        for other in imports_of(path)
    }
    assert not {(part, other) for part, other in arrows if part != other and (other, part) in arrows}


def test_no_module_is_too_long():
    long = {p.name: n for p in SOURCE.rglob("*.py") if (n := len(p.read_text().splitlines())) > 420}
    assert not long


def own_imports(path):
    """The modules of shoestring that a file imports when it runs, and whether inside a function; not for types."""

    def walk(node, inside):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
                continue
            if isinstance(child, ast.ImportFrom) and (child.module or "").split(".")[0] == "shoestring":
                yield {f"{child.module}.{alias.name}" for alias in child.names} | {child.module}, inside
            yield from walk(child, inside or isinstance(child, ast.FunctionDef))

    return list(walk(ast.parse(path.read_text()), False))


def test_few_imports_of_our_own_are_inside_functions():
    """Each is of something heavy that most users of the module do not need, and a comment says what."""
    inside = [path.relative_to(SOURCE) for path in SOURCE.rglob("*.py") for _, lazy in own_imports(path) if lazy]
    assert len(inside) <= 10, inside


def test_no_modules_import_each_other():
    """In a circle, counting imports inside functions."""
    names = {
        ".".join(("shoestring", *path.relative_to(SOURCE).with_suffix("").parts)).removesuffix(".__init__"): path
        for path in SOURCE.rglob("*.py")
    }
    needs = {name: {n for found, _ in own_imports(path) for n in found if n in names} for name, path in names.items()}
    while free := [name for name, needed in needs.items() if not needed & needs.keys()]:
        for name in free:
            del needs[name]
    assert not needs
