# Writes the real sets of sets.py as CSV files, numbers first and the class in the last column:
#   Rscript experiments/research/opinions/export.R FOLDER
# It needs Debian's r-cran-{ddalpha,dslabs,mclust,mlbench,modeldata,rrcov}.
folder <- commandArgs(trailingOnly = TRUE)[1]
dir.create(folder, showWarnings = FALSE, recursive = TRUE)

save <- function(name, x, y) {
  x <- as.data.frame(x)
  x <- x[, sapply(x, is.numeric), drop = FALSE]
  whole <- complete.cases(x) & !is.na(y)
  write.csv(cbind(x, class = as.character(y))[whole, ], file.path(folder, paste0(name, ".csv")), row.names = FALSE)
}
table_of <- function(name, package) {
  place <- new.env()
  data(list = name, package = package, envir = place)
  place[[name]]
}
by_column <- function(name, package, class, without = character()) {
  t <- table_of(name, package)
  save(name, t[, !(names(t) %in% c(class, without))], t[[class]])
}

by_column("Shuttle", "mlbench", "Class")
by_column("banknote", "mclust", "Status")
by_column("diabetes", "mclust", "class")
by_column("thyroid", "mclust", "Diagnosis")
by_column("olive", "dslabs", "area", "region")
tissue <- table_of("tissue_gene_expression", "dslabs")
save("tissue_gene_expression", tissue$x, tissue$y)
digits <- table_of("mnist_27", "dslabs")$train
save("mnist_27", digits[, c("x_1", "x_2")], digits$y)
by_column("cells", "modeldata", "class", "case")
by_column("credit_data", "modeldata", "Status")
by_column("hpc_data", "modeldata", "class")
by_column("oils", "modeldata", "class")
by_column("two_class_dat", "modeldata", "Class")
by_column("fruit", "rrcov", "cultivar")
by_column("olitos", "rrcov", "grp")
by_column("salmon", "rrcov", "Origin", "Gender")

library(ddalpha)
for (name in c("biomed", "bloodtransfusion", "ecoli_cpvsim", "gemsen_MvsF", "groessen_MvsF", "haberman", "heart",
               "indian_liver_patient_1vs2", "tae", "vertebral_column")) {
  t <- getdata(name)
  save(name, t[, -ncol(t)], t[, ncol(t)])
}
