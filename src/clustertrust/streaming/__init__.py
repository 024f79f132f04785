"""Data larger than memory → scores, in a few passes over blocks of rows.

1. A pass draws a random sample, of a fixed size, and the runs are fitted on it.
2. k-means goes on over all rows, all runs in step: a pass an iteration, until the centres rest (at
   most `MOST_STEPS`). MiniBatchKMeans takes one pass of mini-batches. Runs of other methods stay as
   the sample left them.
3. A pass sums up sizes, means, spreads and contingencies (`Totals`); the last pass of k-means has
   done so already.
4. A pass scores each block.

Memory holds some blocks, the sample and the totals: nothing of it grows with the rows. Blocks are
worked on in parallel and their sums added in order, so that the number of threads changes no bit;
their size, which follows from scikit-learn's `working_memory`, changes scores by rounding alone
where the runs are k-means.
"""
