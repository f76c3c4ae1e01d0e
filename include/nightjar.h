#ifndef NIGHTJAR_H
#define NIGHTJAR_H
typedef struct nj_task nj_task;
const char *nj_version(void);
void nj_task_cancel(nj_task *task);
#endif
