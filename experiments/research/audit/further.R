# Writes one set of further.py as a CSV file to standard output, the class in the column "label":
#   Rscript experiments/research/audit/further.R PACKAGE TABLE LABEL COLUMNS,LEFT,OUT
told <- commandArgs(trailingOnly = TRUE)
place <- new.env()
data(list = told[2], package = told[1], envir = place)
held <- get(told[2], place)

of_genotypes <- function(label) {
  # Counts of alleles; attributes alone, so that the package's class need not be loaded
  X <- as.data.frame(attr(held, "tab"))
  cbind(X, label = if (label == "pop") attr(held, "pop") else attr(held, "other")[[label]])
}
of_cells <- function(label) {
  # The 500 genes that vary most, as logarithms
  X <- log1p(t(as.matrix(held)))
  data(list = "HSMM_sample_sheet", package = told[1], envir = place)
  X <- X[, order(-apply(X, 2, var))[1:500]]
  cbind(as.data.frame(X), label = get("HSMM_sample_sheet", place)[rownames(X), label])
}
of_table <- function(label, dropped) {
  X <- as.data.frame(held)
  cbind(X[, !(names(X) %in% c(label, dropped))], label = X[[label]])
}
rows <- switch(told[2],
  microbov = , H3N2 = of_genotypes(told[3]),
  HSMM_expr_matrix = of_cells(told[3]),
  apes = cbind(as.data.frame(t(matrix(held$x, ncol = dim(held$x)[3]))), label = substr(held$group, 1, 3)),
  yeast = cbind(as.data.frame(held$alpha), label = held$class),
  ESL.mixture = cbind(as.data.frame(held$x), label = held$y),
  of_table(told[3], strsplit(told[4], ",")[[1]])
)
write.csv(rows, stdout(), row.names = FALSE)
