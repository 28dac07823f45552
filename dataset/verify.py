"""Another name of `fc-data verify`: python dataset/verify.py --task dataset/formulacode_verified/<owner_repo>/<sha>."""

import sys

from datasmith.cli.entry import fc_data

if __name__ == "__main__":
    sys.argv[1:1] = ["verify"]
    fc_data()
