"""A real notebook: progress without widgets, the report card, and objectives of the notebook in worker processes."""

import pytest

NEED = "is not installed: make test-integrations installs it"
nbclient = pytest.importorskip("nbclient", reason=f"nbclient {NEED}")
nbformat = pytest.importorskip("nbformat", reason=f"nbformat {NEED}")
pytest.importorskip("ipykernel", reason=f"ipykernel {NEED}")

CELLS = [
    """
import time
import shoestring as ss

SCALE = 2.0

def train(trial):
    for step in range(trial.start + 1, 4):
        time.sleep(0.05)
        trial.checkpoint.save(step)
        trial.report(SCALE * trial.config["x"] + 1 / step)
""",
    'study = ss.tune(train, {"x": (0.0, 1.0)}, budget="60 steps", max_resource=3, method="asha")',
    'other = ss.tune(train, {"x": (0.0, 1.0)}, budget="20 steps", max_resource=3, method="asha", workers=2)',
    "study",
    "study.best",
    "study.trials[0]",
]


@pytest.mark.filterwarnings("ignore")
def test_a_notebook(tmp_path):
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in CELLS])
    nbclient.NotebookClient(book, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    outputs = [cell.outputs for cell in book.cells]
    for shown, steps in ((outputs[1], 60), (outputs[2], 20)):
        assert [output.output_type for output in shown] == ["display_data"], "one display, updated in place"
        assert f"{steps} of {steps} steps spent" in shown[0].data["text/html"]
    assert "<svg" in outputs[3][0].data["text/html"]
    assert outputs[3][0].data["text/plain"].startswith("<study 'study': asha, 60 of 60 steps spent")
    assert "<caption>Best</caption>" in outputs[4][0].data["text/html"]
    assert "<caption>Trial 0</caption>" in outputs[5][0].data["text/html"]
