/* command.c: what all sub-commands do with their options. See command.h. */
#include "cli/command.h"

#include <stdio.h>

int accel__next_option(int argc, char **argv, const char *short_options,
                       const struct option *long_options)
{
    opterr = 0;
    int option = getopt_long(argc, argv, short_options, long_options, NULL);
    if (option != '?' && option != ':')
        return option;
    /* For a short option getopt leaves its character in optopt; a long one stands in argv whole. */
    const char *text = argv[optind - 1];
    char letter[3] = {'-', (char)optopt, '\0'};
    bool is_long = text[0] == '-' && text[1] == '-';
    if (!is_long && optopt > 0 && optopt < 128)
        text = letter;
    if (option == ':')
        accel__cli_misuse("option %s wants a value; see accel %s --help", text, argv[0]);
    else
        accel__cli_misuse("unknown or wrongly used option %s; see accel %s --help", text, argv[0]);
    return ACCEL__OPTION_STOP;
}

accel__exit accel__print_help(const char *text)
{
    fputs(text, stdout);
    return accel__cli_finish_output();
}

bool accel__take_options(int argc, char **argv, const accel__options *options, void *request,
                         accel__exit *out_result)
{
    int option;
    *out_result = ACCEL__EXIT_OK;
    while (*out_result == ACCEL__EXIT_OK) {
        option = accel__next_option(argc, argv, options->letters, options->names);
        if (option == -1)
            return true;
        if (option == 'h' || option == ACCEL__OPTION_HELP) {
            *out_result = accel__print_help(options->help);
            return false;
        }
        *out_result = option == ACCEL__OPTION_STOP ? ACCEL__EXIT_USAGE
                                                   : options->take(request, option);
    }
    return false;
}

accel__exit accel__take_json(void *is_json, int option)
{
    (void)option;
    *(bool *)is_json = true;
    accel__report_json();
    return ACCEL__EXIT_OK;
}

accel__exit accel__take_once(const char **value, const char *name)
{
    if (*value != NULL)
        return accel__cli_misuse("option %s is given twice; leave one out", name);
    *value = optarg;
    return ACCEL__EXIT_OK;
}
