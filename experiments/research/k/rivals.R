# What R's packages answer to "how many clusters": mclust (BIC over all its models) and fpc.
# Rscript experiments/research/k/rivals.R FOLDER OUT.csv [KMAX]
# FOLDER holds one NAME.csv a set, points alone, without a header. A set that OUT.csv has is not run again.
suppressMessages({
  library(mclust)
  library(fpc)
})

arguments <- commandArgs(trailingOnly = TRUE)
folder <- arguments[1]
out <- arguments[2]
kmax <- if (length(arguments) > 2) as.integer(arguments[3]) else 16L
TIMES <- 20  # resamples of nselectboot and prediction.strength; their default is 50

by_mclust <- function(X) {
  found <- mclustBIC(X, G = 1:kmax, verbose = FALSE)
  best <- which(found == max(found, na.rm = TRUE), arr.ind = TRUE)
  as.integer(rownames(found)[best[1, 1]])
}

by_nselectboot <- function(X) {
  nselectboot(X, B = TIMES, clustermethod = kmeansCBI, classification = "centroid", krange = 2:kmax)$kopt
}

# Gmin is 2; its answer is 1 where no number of clusters reaches a strength of 0.8.
by_prediction_strength <- function(X) {
  prediction.strength(X, Gmin = 2, Gmax = kmax, M = TIMES, clustermethod = kmeansCBI)$optimalk
}

METHODS <- list(
  "mclust" = by_mclust,
  "fpc nselectboot" = by_nselectboot,
  "fpc prediction.strength" = by_prediction_strength
)

done <- if (file.exists(out)) unique(read.csv(out, stringsAsFactors = FALSE)$set) else character()
if (!file.exists(out)) writeLines("set,method,k,seconds", out)
for (file in sort(list.files(folder, pattern = "[.]csv$"))) {
  name <- sub("[.]csv$", "", file)
  if (name %in% done) next
  X <- as.matrix(read.csv(file.path(folder, file), header = FALSE))
  rows <- character()
  for (method in names(METHODS)) {
    set.seed(1)
    seconds <- system.time(
      k <- tryCatch(METHODS[[method]](X), error = function(e) {
        message(name, ", ", method, ": ", conditionMessage(e))
        NA
      })
    )[["user.self"]]
    rows <- c(rows, sprintf("%s,%s,%s,%.2f", name, method, k[1], seconds))
  }
  cat(rows, file = out, sep = "\n", append = TRUE)
}
