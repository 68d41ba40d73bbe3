"""Run in the image: a dashboard in a kernel of its own follows the pool; its thread has to get messages out of the kernel."""

import nbformat
from nbclient import NotebookClient

OPENED = """\
import time
from kvnb import Lab, dashboard

get_ipython().kernel.get_parent("shell")["metadata"]["cellId"] = "opened"  # as JupyterLab says, and nbclient does not
lab = Lab(11, block_size=4, device="none")
panel = dashboard(lab).value
lab.admit("a", "ABCDE")"""
FOLLOWED = """\
until = time.monotonic() + 30
while panel.board.facts["step"] != 1 and not panel.board.clicks["said"] and time.monotonic() < until:
    time.sleep(0.05)
assert not panel.board.clicks["said"], panel.board.clicks["said"]
assert panel.board.facts["step"] == 1, panel.board.facts"""

cells = [nbformat.v4.new_code_cell(source) for source in (OPENED, FOLLOWED)]
NotebookClient(nbformat.v4.new_notebook(cells=cells), kernel_name="python3", timeout=120).execute()
print("a dashboard follows its pool")
