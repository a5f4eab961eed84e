#!/bin/bash
# Ruby: native threads that it caches, fibers with stacks of its own, fork, and
# a collector that walks the machine stack.
# The harness is found beside this file, and programs are quoted for other shells:
# shellcheck disable=SC1091,SC2154,SC2016
. "$(dirname "$0")/real.sh"
require ruby

same "ruby starts threads, queues and timers" ruby "$programs/threads.rb"
same "ruby forks, pipes and waits" ruby -e '
    t = Thread.new { loop { "x" * 1000; Thread.pass } }
    pids = (1..15).map { |i| fork { a = (1..1000).map(&:to_s); Thread.new { a.size }.join; exit i } }
    puts pids.sum { |p| Process.wait2(p)[1].exitstatus }; t.kill; t.join
    r, w = IO.pipe; fork { r.close; w.write "y" * 300000; w.close; exit! }; w.close; puts r.read.size; Process.wait
    puts `echo sub`, IO.popen(["wc", "-c"], "r+") { |p| p.write "z" * 100000; p.close_write; p.read }.strip'
same "ruby fills strings, arrays and hashes and collects them" ruby -e '
    h = Hash.new { |k, v| k[v] = [] }; 60000.times { |i| h["k#{i % 997}"] << i.to_s * (i % 9) }; puts h.size, h.values.sum { |v| v.join.size }
    s = +""; 20000.times { |i| s << "ab#{i}" }; puts s.size, s.gsub(/b(\d)/) { "<#{$1}>" }.size, s.scan(/1(?=2)/).size
    a = (0...50000).map { |i| (i * 7919) % 50021 }.sort_by { |x| -x }; puts a.first, a.each_slice(100).map(&:sum).max
    100000.times { Object.new; [1, [2]] }; GC.start; GC.compact if GC.respond_to?(:compact); puts GC.count > 0, (2**20000).to_s.size, 3.14.rationalize(Rational(1, 100))
    h.default = nil; puts Marshal.load(Marshal.dump(h)).size, ObjectSpace.each_object(Class).count > 100'
same "ruby runs out of its stack in main and in threads, and goes on" ruby -e '
    def f(n) = f(n + 1) + 1
    begin; f(0); rescue SystemStackError; puts "deep"; end
    puts Thread.new { begin; f(0); rescue SystemStackError; "deep in a thread"; end }.value
    puts Fiber.new { begin; f(0); rescue SystemStackError; "deep in a fiber"; end }.resume'
same -x 1 "ruby raises" ruby -e 'puts "before"; $stdout.flush; raise "on purpose"'
finish
