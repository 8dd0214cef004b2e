// The second unit of dwarf_basic. It defines what the first one only declares.
struct hidden {
    int secret;
    long deep;
};

int other_global = 7;

// Keeps the type in the debug information.
int reveal(struct hidden* hidden) { return hidden->secret; }
