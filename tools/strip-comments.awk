# Prints C source with its comments blanked and its lines kept, so that line numbers still hold.
# String and character literals are left alone. Used by check-layers and check-exports.
{
    line = $0
    kept = ""
    while (line != "") {
        if (in_comment) {
            end = index(line, "*/")
            if (end == 0)
                break
            in_comment = 0
            line = substr(line, end + 2)
            kept = kept " "
        } else if (match(line, /^[^"'\/]+/)) {
            kept = kept substr(line, 1, RLENGTH)
            line = substr(line, RLENGTH + 1)
        } else if (substr(line, 1, 2) == "/*") {
            in_comment = 1
            line = substr(line, 3)
        } else if (substr(line, 1, 2) == "//") {
            break
        } else if (match(line, /^"([^"\\]|\\.)*"/) || match(line, /^'([^'\\]|\\.)*'/)) {
            kept = kept substr(line, 1, RLENGTH)
            line = substr(line, RLENGTH + 1)
        } else {
            kept = kept substr(line, 1, 1)
            line = substr(line, 2)
        }
    }
    print kept
}
