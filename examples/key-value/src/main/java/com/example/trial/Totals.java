package com.example.trial;

import java.util.Arrays;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;
import java.util.stream.Collectors;

/** Named numbers that threads add to, and their text form for another process, such as {@code connections=3 wrong=0}. */
final class Totals {
    private final Map<String, LongAdder> numbers = new ConcurrentHashMap<>();

    void add(String name, long value) {
        numbers.computeIfAbsent(name, key -> new LongAdder()).add(value);
    }

    /** Returns a number, 0 if nothing was added to it. */
    long get(String name) {
        LongAdder number = numbers.get(name);
        return number == null ? 0 : number.sum();
    }

    /** Adds all numbers of a text. */
    void addAll(String text) {
        parse(text).forEach(this::add);
    }

    static Map<String, Long> parse(String text) {
        return Arrays.stream(text.split(" "))
                .filter(word -> word.contains("="))
                .map(word -> word.split("="))
                .collect(Collectors.toMap(pair -> pair[0], pair -> Long.parseLong(pair[1]), Long::sum, TreeMap::new));
    }

    @Override
    public String toString() {
        return new TreeMap<>(numbers)
                .entrySet().stream()
                        .map(each -> each.getKey() + "=" + each.getValue())
                        .collect(Collectors.joining(" "));
    }
}
