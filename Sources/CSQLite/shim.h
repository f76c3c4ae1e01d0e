#include <sqlite3.h>

/* Wrappers for the variadic functions of SQLite, which Swift cannot call. */

/* Hardens the connection against malicious database files: no SQL that can corrupt the file, no unsafe functions in the
 * schema, no triggers and no views. */
static inline int csqlite_harden(sqlite3 *database) {
  int result = sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 1, (int *)0);
  if (result == SQLITE_OK) result = sqlite3_db_config(database, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, (int *)0);
  if (result == SQLITE_OK) result = sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, (int *)0);
  if (result == SQLITE_OK) result = sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_VIEW, 0, (int *)0);
  return result;
}

/* A macro with a cast, which Swift does not import. */
static inline sqlite3_destructor_type csqlite_transient(void) { return SQLITE_TRANSIENT; }
