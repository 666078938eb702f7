# Prepares a recording of the demo (asciicast v2) for viewing: it keeps the scenes listed in the variable scenes, where 0 is
# the text before the first one, leaves time to read each output, and breaks lines longer than the variable width.
NR == 1 {
	print
	next
}

{
	sub(/^\[[^"]*"o", "/, "")
	sub(/"\]$/, "")
	recorded = recorded $0
}

END {
	count = split(recorded, lines, /\\r\\n/)
	for (i = 1; i <= count; i++) {
		line = lines[i]
		scene += line ~ /^--- /
		if (index(" " scenes " ", " " scene + 0 " ") == 0)
			continue
		if (line !~ /^(---|\$) /) {
			output = output broken(line) "\\r\\n"
			height += length(line) > width ? 4 : 1
			continue
		}
		show(output, 0.6 + 0.25 * height)
		output = ""
		height = 0
		style = line ~ /^\$/ ? "1" : "1;36"
		show("\\u001b[" style "m" broken(line) "\\u001b[0m\\r\\n", 0.6)
	}
	show(output, 5)
	show("\\r\\n", 0)
}

function show(text, wait) {
	if (text == "")
		return
	printf "[%.2f, \"o\", \"%s\"]\n", time, text
	time += wait
}

# broken breaks a line, at spaces if possible. Continuation lines are indented.
function broken(line, result, at) {
	gsub(/\\"/, "\001", line)
	while (length(line) > width) {
		for (at = width; at > 5 && substr(line, at + 1, 1) != " "; at--)
			;
		if (at == 5)
			at = width
		result = result substr(line, 1, at) "\\r\\n"
		line = substr(line, at + 1)
		sub(/^ */, "    ", line)
	}
	result = result line
	gsub(/\001/, "\\\"", result)
	return result
}
