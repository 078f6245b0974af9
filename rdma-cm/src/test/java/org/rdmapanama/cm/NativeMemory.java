package org.rdmapanama.cm;

import java.lang.management.ManagementFactory;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.management.JMException;
import javax.management.ObjectName;

/** The native memory of this process that Java code has allocated, in arenas of all kinds: no garbage is collected before. */
public final class NativeMemory {
    /** The process must run with this option. */
    public static final String OPTION = "-XX:NativeMemoryTracking=summary";

    private static final Pattern OTHER = Pattern.compile(" Other \\(reserved=(\\d+)KB");

    private NativeMemory() {}

    /** Returns the number of bytes, a multiple of 1024. */
    public static long used() throws JMException {
        String report = (String) ManagementFactory.getPlatformMBeanServer()
                .invoke(
                        new ObjectName("com.sun.management:type=DiagnosticCommand"),
                        "vmNativeMemory",
                        new Object[] {new String[] {"summary"}},
                        new String[] {String[].class.getName()});
        Matcher other = OTHER.matcher(report);
        if (!other.find()) {
            throw new AssertionError(report);
        }
        return Long.parseLong(other.group(1)) << 10;
    }
}
