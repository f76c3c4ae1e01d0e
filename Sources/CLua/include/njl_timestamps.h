/* njl_timestamps.h - times in text form. */
#ifndef NJL_TIMESTAMPS_H
#define NJL_TIMESTAMPS_H

#include "njl_types.h"

/* A time in the years 0 to 9999: seconds since 1970 in UTC, rounded down, plus 0 to 999,999,999 nanoseconds. */
typedef struct njl_timestamp {
  int64_t seconds;
  int32_t nanoseconds;
} njl_timestamp;
typedef enum njl_timestamp_form { NJL_ISO_8601, NJL_HTTP_DATE } njl_timestamp_form;
/* Rounds to the microsecond. Returns false if `seconds` is out of range. */
bool njl_timestamp_of(double seconds, njl_timestamp *moment);
/* Parses a time. `now`, in seconds since 1970, determines the century of a two-digit year. Returns false if the text is
 * invalid. */
bool njl_timestamp_parse(njl_bytes text, njl_timestamp_form form, int64_t now, njl_timestamp *moment);
/* Formats the time in the zone `minutes_east` of UTC with `digits` fractional digits (negative: as many as needed).
 * Owned by the caller. Returns NULL if the time cannot be represented. */
njl_text *njl_timestamp_format(njl_timestamp moment, njl_timestamp_form form, int minutes_east, int digits);

#endif
