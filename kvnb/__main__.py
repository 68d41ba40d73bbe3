"""``python -m kvnb``: the shell's ``kvnb`` where no script of that name is installed.

Must not know: anything but where it begins.
"""

from kvnb.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
