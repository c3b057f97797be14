/* The C type `long double`, which INCRBYFLOAT and HINCRBYFLOAT count in, for longdouble.rs. */

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the Rust side sets aside for one number. */
_Static_assert(sizeof(long double) <= 16, "a long double fits in 16 bytes");
_Static_assert(_Alignof(long double) <= 16, "16 bytes align a long double");

/* Longer than any finite long double written out in full. */
#define TEXT_LEN_MAX (5 * 1024)

/* Reads the whole text as a number; 0 if it is none, is NaN, or is too large or too small to be held. */
int keyrack_longdouble_parse(const char *text, size_t len, long double *out) {
    char copy[TEXT_LEN_MAX];
    if (len == 0 || len >= sizeof(copy) || isspace((unsigned char)text[0])) return 0;
    memcpy(copy, text, len);
    copy[len] = '\0';

    char *end;
    errno = 0;
    long double value = strtold(copy, &end);
    if ((size_t)(end - copy) != len || isnan(value)) return 0;
    if (errno == ERANGE && (isinf(value) || value == 0)) return 0;
    *out = value;
    return 1;
}

/* Adds `more` to `sum`; 0 if the result is NaN or infinite. */
int keyrack_longdouble_add(long double *sum, const long double *more) {
    *sum += *more;
    return isfinite(*sum) ? 1 : 0;
}

int keyrack_longdouble_is_finite(const long double *value) {
    return isfinite(*value) ? 1 : 0;
}

/* Writes a number without exponent, 17 decimals at most, and returns the length; 0 if there is too little room. */
size_t keyrack_longdouble_format(const long double *value, char *out, size_t room) {
    int written = snprintf(out, room, "%.17Lf", *value);
    if (written <= 0 || (size_t)written >= room) return 0;
    size_t len = (size_t)written;
    if (memchr(out, '.', len) != NULL) {
        while (out[len - 1] == '0') len--;
        if (out[len - 1] == '.') len--;
    }
    if (len == 2 && out[0] == '-' && out[1] == '0') {
        out[0] = '0';
        len = 1;
    }
    return len;
}
