"""``python -m heterophily`` is the command ``heterophily``."""

from heterophily.cli import main

if __name__ == "__main__":
    main()
