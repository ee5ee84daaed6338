#!/bin/bash
# Sixteen workers on one study: sbatch --export=ALL,STORAGE=postgresql://ada@db/tuning examples/slurm_array.sh
# Keep the password in ~/.pgpass. All tasks share one budget; the array may be larger or smaller, and grow later.
#SBATCH --job-name=shoestring
#SBATCH --array=1-16
#SBATCH --cpus-per-task=4
#SBATCH --time=04:00:00
#SBATCH --requeue
# A minute before the time limit, and when it is pre-empted, a worker lets go of its trials; another one continues them.
#SBATCH --signal=B:TERM@60
set -euo pipefail
cd "${SLURM_SUBMIT_DIR:-$PWD}"

# Checkpoints, on a file system that all nodes share.
export SHOESTRING_FILES="$PWD/scaling.files"

# Whoever comes first creates the study; the others find it.
python examples/scaling.py --create

exec shoestring worker "$STORAGE" scaling examples/scaling.py:train --slots "${SLURM_CPUS_PER_TASK:-1}" --quiet
