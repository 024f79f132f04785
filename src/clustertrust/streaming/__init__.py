"""Data larger than memory → scores, in a few passes over blocks of rows.

1. A pass draws a random sample, of a fixed size, and the runs are fitted on it.
2. k-means continues over all rows, all runs together: one pass per iteration, until the centres
   stop moving (at most `MOST_STEPS`). MiniBatchKMeans takes one pass of mini-batches. Runs of other
   methods stay as fitted on the sample.
3. A pass sums up sizes, means, spreads and contingencies (`Totals`); the last pass of k-means has
   done so already.
4. A pass scores each block.

Memory holds some blocks, the sample and the totals: none of them grows with the rows. Blocks are
processed in parallel and their sums added in order, so the number of threads changes no bit. Their
size follows from scikit-learn's `working_memory`; with k-means runs it changes scores only by
rounding.
"""
