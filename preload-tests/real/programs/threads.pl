# Interpreter threads: clones of the whole interpreter, a shared queue, return
# values copied back, detached threads, and rounds of short lives.
use strict;
use warnings;
use threads ('stack_size' => 256 * 1024);
use threads::shared;
use Thread::Queue;

my $sum : shared = 0;
my %table = map { $_ => "v" x ($_ % 50) } 1 .. 3000;
my @t = map {
    my $i = $_;
    threads->create(sub {
        my $n = 0;
        $n += length $table{$_} for keys %table;
        { lock $sum; $sum += $n * $i }
        return ("x" x ($i * 1000), $i);
    })
} 1 .. 8;
my $got = 0;
$got += length(($_->join)[0]) // 0 for @t;
print "$sum $got\n";

my ($in, $out) = (Thread::Queue->new, Thread::Queue->new);
my @w = map {
    threads->create(sub {
        while (defined(my $x = $in->dequeue)) { $out->enqueue($x * $x) }
    })
} 1 .. 4;
$in->enqueue(1 .. 3000);
$in->end;
$_->join for @w;
my $total = 0;
$total += $out->dequeue for 1 .. 3000;
print "$total\n";

for my $round (1 .. 30) {
    $_->join for map { threads->create(sub { my @a = (1 .. 100); scalar @a }) } 1 .. 3;
}
my $ended : shared = 0;
threads->create(sub { lock $ended; $ended++; cond_signal($ended) })->detach for 1 .. 10;
{ lock $ended; cond_wait($ended) while $ended < 10 }
my $t = threads->create({ 'stack_size' => 2 * 1024 * 1024 }, sub { $_[0] ? __SUB($_[0]) : 0 }, 3000);
sub __SUB { my $n = shift; no warnings 'recursion'; $n ? 1 + __SUB($n - 1) : 0 }
print $t->join, "\n", scalar(threads->list), "\n";
