# Adds up the coverage tables in logs of scripts/soak.sh: one table, programs and failures of all
# logs, and the cells that all of them together reached fewer than 20 times. The exit code is 0 when
# nothing failed.

/^op +dimension +ops/ {
  in_table = 1
  header = $0
  for (i = 4; i <= NF; ++i) column[i] = $i
  next
}
in_table && NF == 0 { in_table = 0 }
in_table {
  row = sprintf("%-36s%-10s", $1, $2)
  if (!(row in width)) order[++rows] = row
  width[row] = NF
  for (i = 3; i <= NF; ++i) {
    if ($i == "-") cell[row, i] = "-"
    else cell[row, i] += $i
  }
}
/^[0-9]+ programs, seeds [0-9]+ to [0-9]+, [0-9]+ failed$/ {
  programs += $1
  failed += $(NF - 1)
  seeds = seeds sprintf("\n  %s to %s", $4, substr($6, 1, length($6) - 1))
}
/^[0-9]+ elements in [0-9]+ programs are finite or not/ {
  undecided += $1
  undecided_programs += $4
}

END {
  for (i = 2; i <= rows; ++i) {
    row = order[i]
    for (j = i - 1; j >= 1 && order[j] > row; --j) order[j + 1] = order[j]
    order[j + 1] = row
  }
  print header
  for (i = 1; i <= rows; ++i) {
    row = order[i]
    line = row
    for (c = 3; c <= width[row]; ++c) {
      line = line sprintf("%10s", cell[row, c])
      if (c == 3 || cell[row, c] == "-") continue
      ++cells
      if (cell[row, c] >= 20) continue
      name = row
      gsub(/ +/, " ", name)
      rare[++num_rare] = "  " name column[c] ": " cell[row, c]
    }
    print line
  }
  printf "\n%d of %d cells reached fewer than 20 times\n", num_rare, cells
  for (i = 1; i <= num_rare; ++i) print rare[i]
  printf "%d programs, %d failed, seeds%s\n", programs, failed, seeds
  if (undecided > 0) {
    printf "%d elements in %d programs are finite or not as rounding has it: not compared\n", undecided, undecided_programs
  }
  exit (failed > 0)
}
