/* What Swift's Glibc module leaves out. */
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
