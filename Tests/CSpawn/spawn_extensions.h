/* Functions of glibc 2.29 and 2.34 that Swift's Glibc module does not include. `actions` is a posix_spawn_file_actions_t, whose
 * header conflicts with the module. */
extern int posix_spawn_file_actions_addchdir_np(void *actions, const char *path);
extern int posix_spawn_file_actions_addclosefrom_np(void *actions, int from);
