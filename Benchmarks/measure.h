/* Measurements that both sides of a benchmark use: this process's CPU time, wall time and memory. */
#ifndef MEASURE_H
#define MEASURE_H

#include <dirent.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

/* User and system time of all threads, in microseconds. */
static inline double cpu_us(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e6 + usage.ru_utime.tv_usec + usage.ru_stime.tv_usec;
}

static inline double wall_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1e6 + now.tv_nsec / 1e3;
}

/* "VmRSS:" or "VmHWM:" of /proc/self/status, in KiB. */
static inline double memory_kib(const char *field) {
  char line[256];
  double kib = 0;
  FILE *status = fopen("/proc/self/status", "r");
  while (status && fgets(line, sizeof line, status)) {
    if (strncmp(line, field, strlen(field)) == 0) kib = atof(line + strlen(field));
  }
  if (status) fclose(status);
  return kib;
}

/* The memory of this process and its open descriptors, to measure the growth per connection. */
typedef struct holdings {
  double resident, allocated; /* bytes */
  long descriptors;
} holdings;

static inline holdings held(void) {
  holdings now = {memory_kib("VmRSS:") * 1024, 0, 0};
  struct mallinfo2 heap = mallinfo2();
  now.allocated = (double)(heap.uordblks + heap.hblkhd);
  DIR *folder = opendir("/proc/self/fd");
  while (folder && readdir(folder)) now.descriptors++;
  if (folder) closedir(folder);
  return now;
}

/* The number of threads of this process. */
static inline long threads(void) {
  long count = -2; /* "." and ".." */
  DIR *folder = opendir("/proc/self/task");
  while (folder && readdir(folder)) count++;
  if (folder) closedir(folder);
  return count;
}

/* Prints the growth since `before` for each new connection. */
static inline void report_growth(holdings before) {
  holdings now = held();
  long connections = now.descriptors - before.descriptors;
  printf("{\"connections\": %ld, \"bytes_each\": %.0f, \"allocated_each\": %.0f}\n", connections,
         (now.resident - before.resident) / (double)connections,
         (now.allocated - before.allocated) / (double)connections);
}

/* The resident memory after a tenth of a run, in KiB; 0 if it was not measured. */
static double early_kib;

/* Prints one line of names and numbers, which scripts/bench reads. */
static inline void report(double cpu, double wall) {
  double now = memory_kib("VmRSS:");
  printf("{\"cpu_us\": %.3f, \"wall_us\": %.3f, \"rss_kib\": %.0f, \"peak_kib\": %.0f, \"growth_kib\": %.0f}\n", cpu,
         wall, now, memory_kib("VmHWM:"), early_kib ? now - early_kib : 0);
}

/* Requests before the measurement. */
#define WARM_UP 2000

#endif
