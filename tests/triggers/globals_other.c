/* The other source of globals.c. */
static int hidden = 500;
static int lonely = 600;
int counter = 700;
const char* label_of_other = "label";

int counter_of_other(void) { return hidden++ + lonely++ + counter++; }
