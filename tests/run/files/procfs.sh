# Uses the control files of procfs.stp in the folder $1.
cd "$1" || exit 1
say() { echo "$*" > command; }
say $(cat count) $(cat count)
echo 41 > count
say $(cat count)
say $(wc -lc < sub/long)
say $(stat -c %A .) $(ls) $(stat -c %A count)
say $(stat -c %A sub/long sub/only)
say empty: $(wc -c < sub/nothing)
{ echo abc; echo def; } > sub/only
say $(cat command 2> /dev/null || echo refused) $(sh -c 'echo x > sub/long' 2> /dev/null || echo refused) \
    $(touch new 2> /dev/null || echo refused)
echo stop > command
