package org.rdmapanama.samples;

import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import picocli.CommandLine.TypeConversionException;

/**
 * A number of bytes, written as {@code 4096}, {@code 64KiB}, {@code 100M} or {@code 1GiB}. All units are binary,
 * with or without the {@code iB}, as in the options of dd and perftest.
 *
 * @param bytes number of bytes, not negative
 */
public record ByteSize(long bytes) {
    private static final Pattern TEXT = Pattern.compile("(\\d+)\\s*([kmg]?)(i?b)?", Pattern.CASE_INSENSITIVE);
    private static final String PREFIXES = "KMG";

    /**
     * Reads a size.
     *
     * @param text a number with a unit, or without
     * @return the size
     * @throws TypeConversionException if the text is not a size
     */
    public static ByteSize parse(String text) {
        Matcher matcher = TEXT.matcher(text.strip());
        if (!matcher.matches()) {
            throw new TypeConversionException("'" + text + "' is not a size; write 4096, 64KiB, 100MiB or 1GiB");
        }
        try {
            String prefix = matcher.group(2).toUpperCase(Locale.ROOT);
            long unit = prefix.isEmpty() ? 1 : 1L << (10 * (PREFIXES.indexOf(prefix) + 1));
            return new ByteSize(Math.multiplyExact(Long.parseLong(matcher.group(1)), unit));
        } catch (ArithmeticException | NumberFormatException e) {
            throw new TypeConversionException("'" + text + "' is too large");
        }
    }

    /**
     * Formats a number of bytes in the largest unit that keeps the value at least one: {@code 64 KiB}, {@code 1.5 MiB}.
     *
     * @param bytes the number of bytes
     * @return the text
     */
    public static String format(long bytes) {
        double value = (double) bytes;
        int unit = 0;
        while (value >= 1024 && unit < PREFIXES.length()) {
            value /= 1024;
            unit++;
        }
        String number = value == Math.rint(value) || unit == 0
                ? String.format(Locale.ROOT, "%.0f", value)
                : String.format(Locale.ROOT, "%.1f", value);
        return number + " " + (unit == 0 ? "B" : PREFIXES.charAt(unit - 1) + "iB");
    }

    @Override
    public String toString() {
        return format(bytes);
    }
}
