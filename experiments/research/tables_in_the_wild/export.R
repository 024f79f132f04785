# Write the tables of installed R packages as files, one folder R-PACKAGE each:
#     Rscript export.R FOLDER package ...
arguments <- commandArgs(trailingOnly = TRUE)
for (package in arguments[-1]) {
  folder <- file.path(arguments[1], paste0("R-", package))
  dir.create(folder, recursive = TRUE, showWarnings = FALSE)
  names <- sub(" .*", "", data(package = package)$results[, "Item"])
  for (name in sort(unique(names))) {
    place <- new.env()
    suppressWarnings(try(data(list = name, package = package, envir = place), silent = TRUE))
    table <- if (exists(name, place, inherits = FALSE)) get(name, place)
    if (isS4(table) || !is.data.frame(table)) next
    nested <- vapply(table, function(x) is.list(x) || is.matrix(x), NA)
    if (!any(nested)) write.csv(as.data.frame(table), file.path(folder, paste0(name, ".csv")))
  }
}
